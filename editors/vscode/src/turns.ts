// Work of which only one may be under way, however often it is asked for.

/** A function that does `work` after what is under way; asked for again while it waits, it is done once. */
export function inTurn(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> = Promise.resolve();
  let waiting: Promise<void> | undefined;
  const begin = () => {
    waiting = undefined;
    return (running = work());
  };
  return () => (waiting ??= running.then(begin, begin));
}
