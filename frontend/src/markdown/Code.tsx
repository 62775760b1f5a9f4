// A box of code: its language, a button that copies it, and lines that scroll in their own box.

import { memo } from "react";
import { useWords } from "../i18n/language";
import { CopyButton } from "../ui/CopyButton";
import { highlight } from "./highlight";

interface Props {
  readonly code: string;
  readonly language: string;
  /** The protocol of the caret, where it stands in here. */
  readonly caret: string | null;
}

export function Code({ code, language, caret }: Props) {
  const words = useWords();
  const lines = code.split("\n");
  const name = language.toLowerCase();
  return (
    <div className="code">
      <header>
        <span>{language || words.code.text}</span>
        <CopyButton text={() => code} />
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard */}
      <pre tabIndex={0} translate="no">
        <code>
          {lines.map((line, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines only come at the end
            <Line key={index} line={line} language={name} isLast={index === lines.length - 1} />
          ))}
          {caret && <span className="caret" data-p={caret} />}
        </code>
      </pre>
    </div>
  );
}

const Line = memo(function Line(props: {
  readonly line: string;
  readonly language: string;
  readonly isLast: boolean;
}) {
  const pieces = highlight(props.line, props.language);
  return (
    <>
      {pieces.map(({ kind, text }, index) =>
        kind ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: pieces of a line have no other name
          <span key={index} className={kind}>
            {text}
          </span>
        ) : (
          text
        ),
      )}
      {props.isLast ? "" : "\n"}
    </>
  );
});
