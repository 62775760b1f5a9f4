// One beat for everything that follows a stream: all that is asked for before the next frame happens together in it,
// so that React commits once, however many events came.

/** A hidden page gets no frames; its state is kept up all the same, so that nothing is lost if it is closed. */
const HIDDEN_MS = 250;

const waiting = new Set<() => void>();
let scheduled = false;

/** Calls `task` once in the next frame, however often it is asked for until then. */
export function afterFrame(task: () => void): void {
  waiting.add(task);
  if (scheduled) return;
  scheduled = true;
  if (document.visibilityState === "hidden") setTimeout(beat, HIDDEN_MS);
  else requestAnimationFrame(beat);
}

/** A call of it calls `task`, in a frame, at most once in `ms`; the last call always counts. */
export function spaced(task: () => void, ms: number): () => void {
  let calledAt = -ms;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const run = () => {
    timer = undefined;
    calledAt = performance.now();
    task();
  };
  return () => {
    if (timer !== undefined) return;
    const wait = calledAt + ms - performance.now();
    if (wait <= 0) run();
    else timer = setTimeout(() => afterFrame(run), wait);
  };
}

function beat(): void {
  if (!scheduled) return;
  scheduled = false;
  const tasks = [...waiting];
  waiting.clear();
  for (const task of tasks) task();
}

// A frame that was asked for just before the page was hidden may never come.
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") beat();
});
