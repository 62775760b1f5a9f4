// How the engine chooses its words. An empty field is not sent: the engine's own default holds.

import { useState } from "react";
import { useWords } from "../i18n/language";
import type { Conversation, Sampling } from "./conversation";
import { type NumberRule, readNumber, SAMPLING_RULES } from "./numbers";
import { changeSettings, useSettings } from "./settings";

interface Props {
  readonly conversation: Conversation | undefined;
}

export function SamplingFields({ conversation }: Props) {
  const { settings: words } = useWords();
  return (
    <>
      <Temperature conversation={conversation} />
      <div className="two">
        <NumberField conversation={conversation} name="max_tokens" label={words.maxTokens} />
        <NumberField conversation={conversation} name="seed" label={words.seed} hint={words.random} />
      </div>
      <div className="two">
        <NumberField conversation={conversation} name="top_p" label="top_p" />
        <NumberField conversation={conversation} name="top_k" label="top_k" />
      </div>
    </>
  );
}

function Temperature({ conversation }: Props) {
  const { settings: words } = useWords();
  const { sampling } = useSettings(conversation);
  const { temperature } = sampling;
  const change = (value: number) => changeSampling(conversation, sampling, { temperature: value });
  return (
    <label className="slide">
      <span className="label">{words.temperature}</span>
      <output>{temperature ?? words.engineDefault}</output>
      <input
        type="range"
        min="0"
        max="2"
        step="0.1"
        value={temperature ?? 1}
        onChange={(event) => change(event.target.valueAsNumber)}
      />
    </label>
  );
}

interface NumberFieldProps extends Props {
  readonly name: Exclude<keyof Sampling, "temperature">;
  readonly label: string;
  readonly hint?: string;
}

function NumberField({ conversation, name, label, hint }: NumberFieldProps) {
  const { settings: words } = useWords();
  const { sampling } = useSettings(conversation);
  const rule: NumberRule = SAMPLING_RULES[name];
  const [text, setText] = useState(sampling[name]?.toString() ?? "");
  const isWrong = text.trim() !== "" && readNumber(text, rule) === undefined;
  const change = (value: string) => {
    setText(value);
    changeSampling(conversation, sampling, { [name]: readNumber(value, rule) });
  };
  return (
    <label className="field">
      <span>{label}</span>
      <input
        className="in"
        value={text}
        inputMode={rule.whole ? "numeric" : "decimal"}
        placeholder={hint ?? words.engineDefault}
        aria-invalid={isWrong || undefined}
        onChange={(event) => change(event.target.value)}
      />
      {isWrong && <small className="wrong">{words.range(rule.min, rule.max)}</small>}
    </label>
  );
}

/** A value that is undefined takes the field out. */
function changeSampling(
  conversation: Conversation | undefined,
  sampling: Sampling,
  change: { readonly [Name in keyof Sampling]: number | undefined },
): void {
  const all = Object.entries({ ...sampling, ...change }).filter(([, value]) => value !== undefined);
  changeSettings(conversation?.id, { sampling: Object.fromEntries(all) });
}
