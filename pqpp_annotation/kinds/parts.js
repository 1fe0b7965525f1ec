// What the pages of all kinds share: elements, the prompt, zoom, errors.

/** The elements of a fragment by the name in their data-part. */
export function parts(root) {
  const found = {};
  for (const element of root.querySelectorAll("[data-part]")) found[element.dataset.part] = element;
  return found;
}

/** A new element; attributes whose value is null or false are left out. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/** Show a prompt; its direction is found anew, as it was empty when the page was made. */
export function showPrompt(element, ...text) {
  element.replaceChildren(...text);
  element.removeAttribute("dir");
  element.setAttribute("dir", "auto");
}

/** A button with its key; `help` describes it. */
export function choiceButton({name, help = "", keys}, id, api, run) {
  const text = make("span", {class: "name"}, name);
  const button = make(
    "button", {type: "button", class: "choice", "aria-pressed": "false"},
    make("kbd", {"aria-hidden": "true"}, keys[0]), text,
  );
  if (help) {
    text.append(make("small", {id: `help-${id}`, "aria-hidden": "true"}, help));
    button.setAttribute("aria-label", name);
    button.setAttribute("aria-describedby", `help-${id}`);
  }
  button.addEventListener("click", run, {signal: api.signal});
  return button;
}

/** Let the contents of stages be seen larger, scrolled; returns how to switch it. */
export function zoomable(stages, zoom, api) {
  const set = (isOn, at) => {
    zoom.setAttribute("aria-pressed", String(isOn));
    for (const stage of stages) {
      stage.classList.toggle("zoomed", isOn);
      if (isOn) stage.setAttribute("tabindex", "0");
      else stage.removeAttribute("tabindex");
      stage.scrollLeft = at.x * stage.scrollWidth - stage.clientWidth / 2;
      stage.scrollTop = at.y * stage.scrollHeight - stage.clientHeight / 2;
    }
  };
  const toggle = (at = {x: .5, y: .5}) => set(!stages[0].classList.contains("zoomed"), at);
  zoom.addEventListener("click", () => toggle(), {signal: api.signal});
  return {toggle, off: () => set(false, {x: 0, y: 0})};
}

/** Where a pointer is on an image, as fractions of its width and height. */
export function placeIn(image, event) {
  const box = image.getBoundingClientRect();
  return {x: (event.clientX - box.left) / box.width, y: (event.clientY - box.top) / box.height};
}

/** Whether Enter already does something where the focus is. */
export function isOnControl() {
  return document.activeElement?.matches("button, a, summary, select, textarea, input:not([type=radio], [type=checkbox])") ?? false;
}
