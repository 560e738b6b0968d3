// Pages of plans within pages of the site are as high as they say, so that they do not scroll inside.
"use strict";

window.addEventListener("message", (event) => {
  const height = event.data && event.data.maxatkHeight;
  if (!Number.isFinite(height)) return;
  for (const frame of document.querySelectorAll("iframe.plan")) {
    if (frame.contentWindow === event.source) frame.style.height = `${Math.min(Math.max(height + 4, 200), 6000)}px`;
  }
});
