// What is asked, and of whom: one form, which runs a race or stops it in the same place.
import type { FormEvent, KeyboardEvent } from "react";
import { useState } from "react";
import { useDictionary } from "../i18n/language";
import { RACE_WORDS } from "../i18n/race";
import { Icon } from "../ui/Icon";
import { useModels } from "./models";

export interface Question {
  readonly prompt: string;
  readonly model: string;
  readonly maxTokens: number;
}

interface Props {
  readonly running: boolean;
  /** A race was run before. */
  readonly again: boolean;
  readonly onRun: (question: Question) => void;
  readonly onStop: () => void;
}

const MOST_TOKENS = 200;
/** What was written outlives a look at another view. */
let kept: { prompt: string | null; model: string; maxTokens: string } = {
  prompt: null,
  model: "",
  maxTokens: String(MOST_TOKENS),
};

export function Ask({ running, again, onRun, onStop }: Props) {
  const words = useDictionary(RACE_WORDS);
  const models = useModels();
  const [asked, setAsked] = useState(kept);
  const change = (part: Partial<typeof kept>) => {
    kept = { ...asked, ...part };
    setAsked(kept);
  };
  const prompt = asked.prompt ?? words.example;
  const model = models.includes(asked.model) ? asked.model : (models[0] ?? "");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (running) onStop();
    else if (prompt.trim()) onRun({ prompt, model, maxTokens: tokensFrom(asked.maxTokens) });
  };
  return (
    <form className="race-form" onSubmit={submit}>
      <label className="field">
        <span>{words.ask}</span>
        <textarea
          className="in"
          rows={1}
          aria-label={words.prompt}
          value={prompt}
          onChange={(event) => change({ prompt: event.target.value })}
          onKeyDown={(event) => !running && submitOnEnter(event)}
        />
      </label>
      <label className="field opt">
        <span>{words.model}</span>
        <select className="in" value={model} onChange={(event) => change({ model: event.target.value })}>
          {models.length === 0 && <option value="">{words.automatic}</option>}
          {models.map((id) => (
            <option key={id}>{id}</option>
          ))}
        </select>
      </label>
      <label className="field opt">
        <span>{words.maxTokens}</span>
        <input
          className="in"
          inputMode="numeric"
          value={asked.maxTokens}
          onChange={(event) => change({ maxTokens: event.target.value })}
          onBlur={() => change({ maxTokens: String(tokensFrom(asked.maxTokens)) })}
        />
      </label>
      <button type="submit" className="b main">
        {running ? <span className="stop" /> : <Icon name="play" />}
        <span className="tx">{running ? words.stop : again ? words.again : words.run}</span>
      </button>
    </form>
  );
}

/** Enter runs, Shift+Enter starts a line; the Enter that ends the input of kanji does neither. */
function submitOnEnter(event: KeyboardEvent<HTMLTextAreaElement>): void {
  if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
  event.preventDefault();
  event.currentTarget.form?.requestSubmit();
}

function tokensFrom(written: string): number {
  const tokens = Number.parseInt(written, 10);
  return tokens >= 1 && tokens < 2 ** 31 ? tokens : MOST_TOKENS;
}
