// Yes or no, and the linked prompts with images by the same model, which can be shown.
import {grade} from "../grade.js";
import {make, findParts, showPrompt} from "../parts.js";
import {gettext} from "../../texts.js";

const ANSWERS = [
  {value: 1, name: gettext("Yes"), keys: ["y", "1"]},
  {value: 0, name: gettext("No"), keys: ["n", "2"]},
];

export function start(task, api) {
  const {linked, linkedList, linkedName} = findParts(api.root);
  const prompts = task.detail.linked ?? [];
  linked.hidden = prompts.length === 0;
  linkedName.textContent = prompts.length === 1
    ? gettext("Linked prompt")
    : gettext("{count} linked prompts", {count: prompts.length});
  for (const {prompt, images} of prompts) {
    const text = make("p", {class: "linked-prompt"});
    showPrompt(text, prompt);
    const elements = images.map((src, index) => make("img", {
      src, alt: gettext("Image {number} of {count}", {number: index + 1, count: images.length}), loading: "lazy",
    }));
    linkedList.append(make("li", {}, text, ...elements));
  }
  const toggle = {key: "l", label: gettext("Show or hide linked prompts"), run: () => (linked.open = !linked.open)};
  return grade(task, api, ANSWERS, {extraShortcuts: prompts.length ? [toggle] : []});
}
