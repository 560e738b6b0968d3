// What scrolls sideways can be scrolled by keyboard, and the landmarks and dialogs that the theme makes have names.
"use strict";

(() => {
  const reach = () => document.querySelectorAll(".md-typeset__scrollwrap, .mk-card").forEach((one) => {
    if (one.scrollWidth > one.clientWidth) one.tabIndex = 0;
    else one.removeAttribute("tabindex");
  });
  const name = () => {
    document.querySelector(".md-search[role=dialog]")?.setAttribute("aria-label", "Search");
    document.querySelectorAll("nav.md-code__nav").forEach((one) => one.setAttribute("role", "group"));
  };
  window.addEventListener("load", () => {
    new ResizeObserver(reach).observe(document.body);
    new MutationObserver(() => { name(); reach(); }).observe(document.body, { childList: true, subtree: true });
    name();
    reach();
  });
})();
