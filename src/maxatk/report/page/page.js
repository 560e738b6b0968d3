// Puts the page together when it is opened.
async function embedded(name) {
  const holder = element(name);
  if (!holder) return null;
  const { view } = await vegaEmbed(holder, page.charts[name], { actions: false, renderer: "svg", tooltip: { theme: "custom" } });
  return view;
}

async function start() {
  const views = {};
  for (const name of Object.keys(page.charts)) views[name] = await embedded(name);
  if (moments) {
    const asked = new Moments(moments, await unpacked(moments.returns, Float64Array), await unpacked(moments.actions, Uint16Array));
    const shower = new Shower(asked, views);
    const player = trials.length ? new Player(shower) : null;
    if (player) keys(player);
    if (!shower.read(new URLSearchParams(location.hash.slice(1)), player)) await shower.show();
  } else {
    document.documentElement.dataset.ready = "yes";
  }
}

// Charts in a folded part learn their width when it is opened.
document.querySelectorAll("details").forEach((folded) => folded.addEventListener("toggle", () => window.dispatchEvent(new Event("resize"))));

// Keys of the player, where no control has a use of its own for them.
function keys(player) {
  const does = { ArrowRight: "forward", ArrowLeft: "back", " ": "play", Home: "first", n: "next" };
  document.addEventListener("keydown", (event) => {
    const busy = event.target instanceof Element && event.target.closest("input, select, button, summary, a");
    if (busy || event.ctrlKey || event.altKey || event.metaKey || !(event.key in does)) return;
    event.preventDefault();
    element(does[event.key]).click();
  });
}

// Within another page: say how high this one is, so that it need not scroll inside, and be as light or dark as that.
if (window.parent !== window) {
  new ResizeObserver(() => window.parent.postMessage({ maxatkHeight: document.documentElement.offsetHeight }, "*")).observe(document.documentElement);
  window.addEventListener("message", ({ data }) => {
    const scheme = data && data.maxatkScheme;
    if (scheme === "light" || scheme === "dark") document.documentElement.style.colorScheme = scheme;
  });
}

start();
