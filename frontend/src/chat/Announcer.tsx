// The one line that screen readers hear of an answer: whole sentences, at most every two seconds, then that it ended.

import { useEffect, useRef, useState } from "react";
import { afterFrame } from "../app/frames";
import { useWords, type Words } from "../i18n/language";
import { type Answer, type AnswerState, isOpen } from "./conversation";
import { seamSentence } from "./SeamLine";
import { sentencesFrom } from "./sentences";
import { answers, useAnswerState } from "./service";

const EVERY_MS = 2000;

export function Announcer({ answer }: { readonly answer: Answer | undefined }) {
  return (
    <p className="sr" aria-live="polite">
      {answer && <Spoken key={answer.id} answer={answer} />}
    </p>
  );
}

function Spoken({ answer }: { readonly answer: Answer }) {
  const words = useWords();
  const state = useAnswerState(answer);
  const [said, setSaid] = useState("");
  const heard = useRef({ text: answer.text.length, seams: answer.seams.length, open: isOpen(answer) });
  useEffect(() => {
    if (state !== "running") return;
    const say = () => {
      const now = answers.live(answer.id)?.answer;
      const news = now ? newsOf(now, heard.current, words) : "";
      if (news) setSaid(news);
    };
    const timer = setInterval(() => afterFrame(say), EVERY_MS);
    return () => clearInterval(timer);
  }, [state, answer.id, words]);
  useEffect(() => {
    if (!heard.current.open || state === "running" || state === "busy") return;
    heard.current.open = false;
    setSaid(ending(state, answer.position + 1, words));
  }, [state, answer.position, words]);
  return said;
}

/** What has come since it was last asked for. */
function newsOf(answer: Answer, heard: { text: number; seams: number }, words: Words): string {
  const seams = answer.seams.slice(heard.seams).map((seam) => seamSentence(seam, words));
  const { text, end } = sentencesFrom(answer.text, heard.text);
  heard.seams = answer.seams.length;
  heard.text = end;
  return [...seams, text].filter(Boolean).join(" ");
}

function ending(state: AnswerState, events: number, { say }: Words): string {
  if (state === "finished") return say.finished(events);
  return state === "stopped" ? say.stopped : say.failed;
}
