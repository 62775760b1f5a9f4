// An answer as it stands ten times a second: figures and charts need not be drawn each frame, and cannot be read
// faster.

import { useEffect, useState } from "react";
import { afterFrame } from "../app/frames";
import type { Answer } from "./conversation";
import { answers, useAnswerState } from "./service";

const EVERY_MS = 100;

export function useSlowly(stored: Answer): Answer {
  const [shown, setShown] = useState(() => answers.live(stored.id)?.answer ?? stored);
  const isRunning = useAnswerState(stored) === "running";
  useEffect(() => {
    if (!isRunning) return;
    const show = () => setShown((last) => answers.live(stored.id)?.answer ?? last);
    const timer = setInterval(() => afterFrame(show), EVERY_MS);
    return () => clearInterval(timer);
  }, [isRunning, stored.id]);
  return isRunning ? shown : stored;
}
