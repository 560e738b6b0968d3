// Where the playground plans: a worker, so that the page never waits. It is made from the planner's own text, since a page that
// was opened from a folder may not load one from a file. Of questions of one kind, only the latest is answered.
"use strict";

function makeThread(answered) {
  const text = `const Planner = (${makePlanner})();
    onmessage = ({ data }) => postMessage({ ...data, answer: Planner[data.kind](data.asked) });`;
  const waiting = new Map(); // kind -> what was asked last
  let busy = false;

  function next() {
    if (busy || waiting.size === 0) return;
    const [kind, asked] = waiting.entries().next().value;
    waiting.delete(kind);
    busy = true;
    send({ kind, asked });
  }

  function receive({ kind, asked, answer }) {
    busy = false;
    if (!waiting.has(kind)) answered(kind, asked, answer);
    next();
  }

  function onThisThread(message) {
    setTimeout(() => receive({ ...message, answer: Planner[message.kind](message.asked) }), 20);
  }

  let send = onThisThread; // where a browser has no workers
  try {
    const worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
    worker.onmessage = ({ data }) => receive(data);
    send = (message) => worker.postMessage(message);
  } catch {
    // as above
  }

  return {
    ask(kind, asked) {
      waiting.set(kind, asked);
      next();
    },
  };
}
