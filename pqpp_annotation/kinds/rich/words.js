// The prompt as words that can be marked, by the published rule.
import {make, showPrompt} from "../parts.js";

const TOKEN = /[^,.?!":; ]+/g;

/** Fill an element with the prompt; `toggle(number)` is called for a word that is pressed. */
export function showWords(element, prompt, api, toggle) {
  const words = [];
  const pieces = [];
  let end = 0;
  for (const found of prompt.matchAll(TOKEN)) {
    const button = make("button", {type: "button", class: "word", "aria-pressed": "false", tabindex: "-1"}, found[0]);
    const number = words.push(button) - 1;
    pieces.push(prompt.slice(end, found.index), button);
    end = found.index + found[0].length;
    button.addEventListener("click", () => {
      stand(number);
      toggle(number);
    }, {signal: api.signal});
  }
  showPrompt(element, ...pieces, prompt.slice(end));
  let place = 0;

  /** Let the tab key stop at one word; the arrow keys move on from it. */
  function stand(number) {
    words[place]?.setAttribute("tabindex", "-1");
    place = number;
    words[place]?.setAttribute("tabindex", "0");
  }

  element.addEventListener("keydown", event => {
    const isRightToLeft = getComputedStyle(element).direction === "rtl";
    const forward = isRightToLeft ? "ArrowLeft" : "ArrowRight";
    const back = isRightToLeft ? "ArrowRight" : "ArrowLeft";
    const last = words.length - 1;
    const to = {[forward]: place + 1, [back]: place - 1, Home: 0, End: last}[event.key];
    if (to === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    stand(Math.min(last, Math.max(0, to)));
    words[place].focus();
  }, {signal: api.signal});
  stand(0);

  return {
    focus: () => words[place]?.focus(),
    draw: marked => words.forEach((word, number) => word.setAttribute("aria-pressed", String(marked.includes(number)))),
  };
}
