// Make scrollable elements reachable by keys, and give each side bar a label.
function makeFocusable() {
  for (const element of document.querySelectorAll("pre, .table-wrapper, div.output, .formula")) {
    if (element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight) element.tabIndex = 0;
    else element.removeAttribute("tabindex");
  }
}
addEventListener("DOMContentLoaded", () => {
  document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "Pages");
  document.querySelector(".toc-drawer")?.setAttribute("aria-label", "On this page");
  makeFocusable();
});
addEventListener("resize", makeFocusable);
