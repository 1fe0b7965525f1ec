// What can be scrolled can be reached by keys; the two side bars are told apart.
function reachable() {
  for (const one of document.querySelectorAll("pre, .table-wrapper, div.output, .formula")) {
    if (one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight) one.tabIndex = 0;
    else one.removeAttribute("tabindex");
  }
}
addEventListener("DOMContentLoaded", () => {
  document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "Pages");
  document.querySelector(".toc-drawer")?.setAttribute("aria-label", "On this page");
  reachable();
});
addEventListener("resize", reachable);
