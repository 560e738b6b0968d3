// iframe-worker.js, with which the search works from a folder, replaces Worker there; the playground plans in a true one.
window.NativeWorker = window.Worker;
