// A conversation's name being written. Enter or leaving keeps it, Esc does not.

import { useRef } from "react";
import { useWords } from "../i18n/language";
import { isComposing } from "./keys";

interface Props {
  readonly title: string;
  /** null: as it was. */
  readonly onDone: (title: string | null) => void;
}

export function TitleField({ title, onDone }: Props) {
  const { list } = useWords();
  // Leaving the field by Esc takes focus away as well: only the first end counts.
  const isDone = useRef(false);
  const end = (value: string | null) => {
    if (isDone.current) return;
    isDone.current = true;
    onDone(value);
  };
  return (
    <input
      className="in title-field"
      aria-label={list.renameLabel}
      defaultValue={title}
      maxLength={200}
      // biome-ignore lint/a11y/noAutofocus: the field was just asked for
      autoFocus
      onFocus={(event) => event.target.select()}
      onBlur={(event) => end(event.target.value)}
      onKeyDown={(event) => {
        if (isComposing(event)) return;
        if (event.key === "Enter") end(event.currentTarget.value);
        if (event.key !== "Escape") return;
        event.stopPropagation();
        end(null);
      }}
    />
  );
}
