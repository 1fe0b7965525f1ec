// The prompt as markable words, tokenized as in RichHF-18K.
import {make, showPrompt} from "../parts.js";

const TOKEN = /[^,.?!":; ]+/g;

/** Fill an element with the prompt; call `toggle(number)` when a word is pressed. */
export function showWords(element, prompt, api, toggle) {
  const words = [];
  const pieces = [];
  let end = 0;
  for (const match of prompt.matchAll(TOKEN)) {
    const button = make("button", {type: "button", class: "word", "aria-pressed": "false", tabindex: "-1"}, match[0]);
    const number = words.push(button) - 1;
    pieces.push(prompt.slice(end, match.index), button);
    end = match.index + match[0].length;
    button.addEventListener("click", () => {
      select(number);
      toggle(number);
    }, {signal: api.signal});
  }
  showPrompt(element, ...pieces, prompt.slice(end));
  let selected = 0;

  /** Make one word reachable with Tab; arrow keys move from it. */
  function select(number) {
    words[selected]?.setAttribute("tabindex", "-1");
    selected = number;
    words[selected]?.setAttribute("tabindex", "0");
  }

  element.addEventListener("keydown", event => {
    const isRightToLeft = getComputedStyle(element).direction === "rtl";
    const forward = isRightToLeft ? "ArrowLeft" : "ArrowRight";
    const back = isRightToLeft ? "ArrowRight" : "ArrowLeft";
    const last = words.length - 1;
    const target = {[forward]: selected + 1, [back]: selected - 1, Home: 0, End: last}[event.key];
    if (target === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    select(Math.min(last, Math.max(0, target)));
    words[selected].focus();
  }, {signal: api.signal});
  select(0);

  return {
    focus: () => words[selected]?.focus(),
    draw: marked => words.forEach((word, number) => word.setAttribute("aria-pressed", String(marked.includes(number)))),
  };
}
