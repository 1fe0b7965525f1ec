// A scale of integers; the key of a step is its digit if all steps are from 0 to 10.
import {grade} from "../grade.js";

const KEYS = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "0", "x"];
const LONGEST_LIST = 7;

export function start(task, api) {
  const {low, high, labels} = task.settings;
  const steps = Array.from({length: high - low + 1}, (_, index) => low + index);
  const isDigit = low >= 0 && high <= 10;
  // Steps are shown in a list if each has a word, else in a row.
  const isList = steps.length <= LONGEST_LIST && steps.every(step => labels[step]);
  return grade(task, api, steps.map((value, index) => ({
    value,
    keys: [isDigit ? (value === 10 ? "x" : String(value)) : KEYS[index]],
    name: isList ? labels[value] : String(value),
    help: isList ? "" : labels[value] ?? "",
  })), {isScale: !isList});
}
