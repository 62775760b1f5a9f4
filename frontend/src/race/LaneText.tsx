// The text of a lane, in a box of a fixed height that stays at its end until the reader scrolls up.
import { useLayoutEffect, useRef } from "react";

/** Nearer to the end than this is at the end. */
const NEAR_PX = 48;

interface Props {
  readonly text: string;
  readonly label: string;
  readonly caret: boolean;
  readonly children?: React.ReactNode;
}

export function LaneText({ text, label, caret, children }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const stuck = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: with each text the box may have grown
  useLayoutEffect(() => {
    const { current } = box;
    if (current && stuck.current && !selectedIn(current)) current.scrollTop = current.scrollHeight;
  }, [text]);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset groups controls, this is text
    <div
      className="text"
      ref={box}
      role="group"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
      tabIndex={0}
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        stuck.current = scrollHeight - scrollTop - clientHeight <= NEAR_PX;
      }}
    >
      <Growing text={text} />
      {/* A new one with each text, so that it starts to blink only when the text rests. */}
      {caret && <span className="caret" key={text.length} />}
      {children}
    </div>
  );
}

/** Appends instead of replacing, so that what the reader has selected stays selected. */
function Growing({ text }: { text: string }) {
  const span = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    if (!span.current) return;
    const node = textIn(span.current);
    if (text.startsWith(node.data)) node.appendData(text.slice(node.data.length));
    else node.data = text;
  }, [text]);
  return <span ref={span} />;
}

function textIn(element: HTMLElement): Text {
  const known = element.firstChild;
  return known instanceof Text ? known : element.appendChild(document.createTextNode(""));
}

function selectedIn(element: HTMLElement): boolean {
  const selection = document.getSelection();
  return selection !== null && !selection.isCollapsed && element.contains(selection.anchorNode);
}
