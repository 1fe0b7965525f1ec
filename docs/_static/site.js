// What can be scrolled can be reached by keys.
function reachable() {
  for (const one of document.querySelectorAll("pre, .table-wrapper, div.output, .formula")) {
    if (one.scrollWidth > one.clientWidth) one.tabIndex = 0;
    else if (one.tabIndex === 0) one.removeAttribute("tabindex");
  }
}
addEventListener("DOMContentLoaded", reachable);
addEventListener("resize", reachable);
