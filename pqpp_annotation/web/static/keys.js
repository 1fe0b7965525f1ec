// Keyboard shortcuts: their handlers, their list, and the setting that disables single keys.

import {gettext} from "./texts.js";

const OFF = "pqpp-keys";
const NAMES = {ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", " ": gettext("Space")};

const isSingle = key => key.length === 1;
const isTyping = target =>
  target.matches?.("textarea, select, [contenteditable], input:not([type=checkbox], [type=radio])");

export class Keys {
  #pageKeys; // [{keys, label, run}]
  #itemKeys = []; // the same for the displayed item

  constructor(pageKeys) {
    this.#pageKeys = pageKeys.map(normalize);
    document.addEventListener("keydown", event => this.#handleKey(event));
    document.documentElement.classList.toggle("no-keys", !this.areOn);
  }

  get areOn() {
    return localStorage.getItem(OFF) !== "off";
  }

  set areOn(isOn) {
    localStorage.setItem(OFF, isOn ? "on" : "off");
    document.documentElement.classList.toggle("no-keys", !isOn);
  }

  /** Set the shortcuts of the displayed item. */
  set(itemKeys) {
    this.#itemKeys = itemKeys.map(normalize);
  }

  /** Fill a table body with all shortcuts. */
  list(body) {
    body.replaceChildren(...[...this.#itemKeys, ...this.#pageKeys].map(({keys, label}) => {
      const row = document.createElement("tr");
      const names = document.createElement("th");
      names.scope = "row";
      for (const key of keys) {
        const name = document.createElement("kbd");
        name.textContent = NAMES[key] ?? key;
        names.append(name, " ");
      }
      const action = document.createElement("td");
      action.textContent = label;
      row.append(names, action);
      return row;
    }));
  }

  #handleKey(event) {
    if (event.defaultPrevented || event.isComposing || event.repeat) return;
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (isTyping(event.target) || document.querySelector("dialog[open], .menu[open]")) return;
    const isLatin = /^[a-z]$/i.test(event.key); // on other layouts, it is not the printed letter
    const shortcut = this.#find(event.key) ?? (isLatin ? undefined : this.#find(getPrintedKey(event.code)));
    if (!shortcut || (!this.areOn && isSingle(event.key) && event.key !== " ")) return;
    if (event.key !== "Enter" && event.key !== " ") event.preventDefault();
    shortcut.run(event);
  }

  #find(key) {
    const pressed = key?.toLowerCase();
    const matches = ({keys}) => keys.some(name => name.toLowerCase() === pressed);
    return this.#itemKeys.find(matches) ?? this.#pageKeys.find(matches);
  }
}

const normalize = ({key, keys, label, run}) => ({keys: keys ?? [key], label, run});

/** Return the Latin letter or digit printed on a key, for keyboards with other letters. */
function getPrintedKey(code) {
  return /^(?:Key|Digit)(.)$/.exec(code)?.[1];
}
