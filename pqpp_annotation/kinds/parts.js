// Shared by the pages of all kinds: elements, prompts and zoom.

/** Return the elements below `root` by their data-part. */
export function findParts(root) {
  const elements = {};
  for (const element of root.querySelectorAll("[data-part]")) elements[element.dataset.part] = element;
  return elements;
}

/** Create an element, without attributes whose value is null or false. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/** Show a prompt; setting `dir` again makes the browser detect the direction of the new text. */
export function showPrompt(element, ...text) {
  element.replaceChildren(...text);
  element.removeAttribute("dir");
  element.setAttribute("dir", "auto");
}

/** Create a button that shows its key; `help` is its description. */
export function makeChoiceButton({name, help = "", keys}, id, api, run) {
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

/** Let a button zoom the contents of stages; return functions to toggle and end the zoom. */
export function addZoom(stages, zoom, api) {
  const set = (isOn, position) => {
    zoom.setAttribute("aria-pressed", String(isOn));
    for (const stage of stages) {
      stage.classList.toggle("zoomed", isOn);
      if (isOn) stage.setAttribute("tabindex", "0");
      else stage.removeAttribute("tabindex");
      stage.scrollLeft = position.x * stage.scrollWidth - stage.clientWidth / 2;
      stage.scrollTop = position.y * stage.scrollHeight - stage.clientHeight / 2;
    }
  };
  const toggle = (position = {x: .5, y: .5}) => set(!stages[0].classList.contains("zoomed"), position);
  zoom.addEventListener("click", () => toggle(), {signal: api.signal});
  return {toggle, off: () => set(false, {x: 0, y: 0})};
}

/** Return a pointer's position on an image, as fractions of its width and height. */
export function getPosition(image, event) {
  const box = image.getBoundingClientRect();
  return {x: (event.clientX - box.left) / box.width, y: (event.clientY - box.top) / box.height};
}

/** Return whether the focused element handles Enter itself. */
export function isOnControl() {
  return document.activeElement?.matches("button, a, summary, select, textarea, input:not([type=radio], [type=checkbox])") ?? false;
}
