// Yes or no; the linked prompts, with images of the same model, on demand.
import {grade} from "../grade.js";
import {make, parts, showPrompt} from "../parts.js";

const ANSWERS = [
  {value: 1, name: "Yes", keys: ["y", "1"]},
  {value: 0, name: "No", keys: ["n", "2"]},
];

export function start(task, api) {
  const {linked, linkedList, linkedName} = parts(api.root);
  const prompts = task.detail.linked ?? [];
  linked.hidden = prompts.length === 0;
  linkedName.textContent = prompts.length === 1 ? "Linked prompt" : `${prompts.length} linked prompts`;
  for (const {prompt, images} of prompts) {
    const text = make("p", {class: "linked-prompt"});
    showPrompt(text, prompt);
    const pictures = images.map((src, place) => make("img", {
      src, alt: `Image ${place + 1} of ${images.length}`, loading: "lazy",
    }));
    linkedList.append(make("li", {}, text, ...pictures));
  }
  const toggle = {key: "l", label: "Show or hide linked prompts", run: () => (linked.open = !linked.open)};
  return grade(task, api, ANSWERS, {others: prompts.length ? [toggle] : []});
}
