// An answer's text: its parts along the rail, as Markdown. Loaded beside the page, not before it: the Markdown is a
// third of all code.

import { useMemo, useRef } from "react";
import { useWords } from "../i18n/language";
import { Blocks } from "../markdown/blocks";
import { MarkdownBlock } from "../markdown/MarkdownBlock";
import { Icon } from "../ui/Icon";
import { type Answer, lastProtocol } from "./conversation";
import type { Live } from "./following";
import { type Part, partsOf } from "./parts";
import { SeamLine } from "./SeamLine";
import { Waiting } from "./Waiting";

export function AnswerBody({ live }: { readonly live: Live }) {
  const { answer: words } = useWords();
  const { answer, phase } = live;
  const isRunning = answer.state === "running";
  const parts = useParts(answer);
  if (parts.length === 0) {
    if (isRunning) return <Waiting live={live} />;
    const isMute = answer.state === "finished" && !answer.refusal && answer.toolCalls.length === 0;
    return isMute ? (
      <div className="part" data-p={lastProtocol(answer)}>
        <p className="wait">
          <Icon name="info" />
          {words.empty}
        </p>
      </div>
    ) : null;
  }
  return parts.map((part, index) => (
    <PartView
      key={part.key}
      part={part}
      caret={isRunning && index === parts.length - 1 ? lastProtocol(answer) : null}
      isWaiting={isRunning && index === parts.length - 1 && phase !== "streaming"}
    />
  ));
}

interface PartProps {
  readonly part: Part;
  /** The hue of the caret, where it stands in this part. */
  readonly caret: string | null;
  /** Between two connections: the rail has a gap until the next event. */
  readonly isWaiting: boolean;
}

function PartView({ part, caret, isWaiting }: PartProps) {
  const last = part.blocks.length - 1;
  return (
    <>
      {part.seam && <SeamLine seam={part.seam} />}
      {part.blocks.length > 0 && (
        <div className={isWaiting ? "part md gap" : "part md"} data-p={part.protocol}>
          {part.blocks.map(({ start, source }, index) => (
            <MarkdownBlock key={start} source={source} live={index === last ? caret : null} />
          ))}
        </div>
      )}
    </>
  );
}

function useParts(answer: Answer): readonly Part[] {
  const blocks = useRef<Blocks>(null);
  blocks.current ??= new Blocks();
  const { of } = blocks.current;
  const { text, protocol, seams } = answer;
  return useMemo(() => partsOf(of(text), seams, protocol), [of, text, seams, protocol]);
}
