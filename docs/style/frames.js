// Pages of plans within pages of the site are as high as they say, so that they do not scroll inside, and as light or dark.
"use strict";

(() => {
  const frames = () => [...document.querySelectorAll("iframe.plan")];
  const tell = (frame) => {
    const dark = document.body.getAttribute("data-md-color-scheme") === "slate";
    frame.contentWindow.postMessage({ maxatkScheme: dark ? "dark" : "light" }, "*");
  };
  window.addEventListener("message", (event) => {
    const height = event.data && event.data.maxatkHeight;
    const frame = frames().find((one) => one.contentWindow === event.source);
    if (!frame || !Number.isFinite(height)) return;
    frame.style.height = `${Math.min(Math.max(height + 4, 200), 6000)}px`;
    tell(frame);
  });
  new MutationObserver(() => frames().forEach(tell)).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
})();
