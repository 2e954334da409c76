// What differs in two lines, as a reader sees it.

/** Of a line, the columns `from` to `to` become `text`. */
export interface Part {
  from: number;
  to: number;
  text: string;
}

const TOKENS = /[\p{L}\p{M}\p{N}_$]+|[^]/gu; // words and signs
const WORD = /^[\p{L}\p{M}\p{N}_$]/u;

/** What differs in two lines, in whole words: each word by itself where only words do, else from the first to the last. */
export function parts(old: string, now: string): Part[] {
  const before: string[] = old.match(TOKENS) ?? [];
  const after: string[] = now.match(TOKENS) ?? [];
  const areWords = (one: string, other = "") => WORD.test(one) && WORD.test(other);
  if (before.length === after.length && before.every((token, n) => token === after[n] || areWords(token, after[n]))) {
    let from = 0;
    return before
      .map((token, n) => ({ from, to: (from += token.length), text: after[n] ?? "", isNew: token !== after[n] }))
      .filter((part) => part.isNew);
  }
  const most = Math.min(before.length, after.length);
  let head = 0;
  let tail = 0;
  while (head < most && before[head] === after[head]) head += 1;
  while (tail < most - head && before.at(-tail - 1) === after.at(-tail - 1)) tail += 1;
  const from = before.slice(0, head).join("").length;
  const to = before.slice(0, before.length - tail).join("").length;
  return [{ from, to, text: after.slice(head, after.length - tail).join("") }];
}
