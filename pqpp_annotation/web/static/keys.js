// Single keys: what each does, the list of them, and the switch that turns them off.

import {gettext} from "./texts.js";

const OFF = "pqpp-keys";
const NAMES = {ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", " ": gettext("Space")};

const isSingle = key => key.length === 1;
const isTyping = target =>
  target.matches?.("textarea, select, [contenteditable], input:not([type=checkbox], [type=radio])");

export class Keys {
  #own; // of the page itself: [{keys, label, run}]
  #items = []; // of the item that is shown

  constructor(own) {
    this.#own = own.map(spread);
    document.addEventListener("keydown", event => this.#pressed(event));
    document.documentElement.classList.toggle("no-keys", !this.areOn);
  }

  get areOn() {
    return localStorage.getItem(OFF) !== "off";
  }

  set areOn(isOn) {
    localStorage.setItem(OFF, isOn ? "on" : "off");
    document.documentElement.classList.toggle("no-keys", !isOn);
  }

  /** Set the keys of the item that is shown. */
  set(items) {
    this.#items = items.map(spread);
  }

  /** Fill a table with the keys and what they do. */
  list(body) {
    body.replaceChildren(...[...this.#items, ...this.#own].map(({keys, label}) => {
      const row = document.createElement("tr");
      const names = document.createElement("th");
      names.scope = "row";
      for (const key of keys) {
        const name = document.createElement("kbd");
        name.textContent = NAMES[key] ?? key;
        names.append(name, " ");
      }
      const what = document.createElement("td");
      what.textContent = label;
      row.append(names, what);
      return row;
    }));
  }

  #pressed(event) {
    if (event.defaultPrevented || event.isComposing || event.repeat) return;
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (isTyping(event.target) || document.querySelector("dialog[open], .menu[open]")) return;
    const found = this.#find(event.key) ?? this.#find(ofCode(event.code));
    if (!found || (!this.areOn && isSingle(event.key) && event.key !== " ")) return;
    if (event.key !== "Enter" && event.key !== " ") event.preventDefault();
    found.run(event);
  }

  #find(key) {
    const wanted = key?.toLowerCase();
    const has = ({keys}) => keys.some(one => one.toLowerCase() === wanted);
    return this.#items.find(has) ?? this.#own.find(has);
  }
}

const spread = ({key, keys, label, run}) => ({keys: keys ?? [key], label, run});

/** The letter or digit printed on a key, for keyboards that write other letters. */
function ofCode(code) {
  return /^(?:Key|Digit)(.)$/.exec(code)?.[1];
}
