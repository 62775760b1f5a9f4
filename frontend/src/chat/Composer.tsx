// Where one writes. While an answer runs, Stop and Drop connection stand where Send was, and the protocol can be
// switched under it.

import { useEffect, useId, useRef, useState } from "react";
import { setPreferences, usePreferences } from "../app/preferences";
import { useReadiness } from "../app/readiness";
import { useWords } from "../i18n/language";
import { Button, IconButton } from "../ui/Button";
import { Notice } from "../ui/Notice";
import { ProtocolPicker } from "../ui/Segmented";
import { type Answer, type Conversation, isOpen, type Turn } from "./conversation";
import { draftText, keepDraftText } from "./drafts";
import { isComposing, isSend } from "./keys";
import { answers, useAnswerState } from "./service";

interface Props {
  readonly conversation: Conversation | undefined;
  /** A message that was sent and is being changed. */
  readonly edited: Turn | null;
  readonly suggested: string;
  readonly onSubmit: (text: string) => void;
  readonly onCancel: () => void;
}

export function Composer({ conversation, edited, suggested, onSubmit, onCancel }: Props) {
  const { composer } = useWords();
  const id = conversation?.id ?? null;
  const [text, setText] = useState(edited?.ask ?? (suggested || draftText(id)));
  const running = useRunning(conversation?.turns.at(-1)?.answer);
  const change = (value: string) => {
    setText(value);
    if (!edited) keepDraftText(id, value);
  };
  const submit = () => {
    if (!text.trim() || (running && !edited)) return;
    change("");
    onSubmit(text);
  };
  return (
    <div className="gut">
      <div className="col">
        <Offline />
        {edited && <Editing onCancel={onCancel} />}
        <form
          className="composer"
          onSubmit={(event) => {
            event.preventDefault();
            submit();
          }}
        >
          <Field text={text} onChange={change} onSend={submit} onEscape={onCancel} />
          <div className="row">
            <Protocol running={running} />
            <span className="grow" />
            {running && !edited ? <Running answer={running} /> : <Send />}
          </div>
        </form>
        <p className="hint">{running ? composer.switch : composer.keys}</p>
      </div>
    </div>
  );
}

interface FieldProps {
  readonly text: string;
  readonly onChange: (text: string) => void;
  readonly onSend: () => void;
  readonly onEscape: () => void;
}

function Field({ text, onChange, onSend, onEscape }: FieldProps) {
  const { composer } = useWords();
  const id = useId();
  const ref = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    const field = ref.current;
    // On a touch screen the keyboard would cover what one came to read.
    if (!field || !matchMedia("(hover: hover)").matches) return;
    field.focus();
    field.setSelectionRange(field.value.length, field.value.length);
  }, []);
  return (
    <>
      <label className="sr" htmlFor={id}>
        {composer.label}
      </label>
      <textarea
        id={id}
        ref={ref}
        rows={1}
        value={text}
        placeholder={composer.placeholder}
        enterKeyHint="send"
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape" && !isComposing(event)) onEscape();
          if (!isSend(event)) return;
          event.preventDefault();
          onSend();
        }}
      />
    </>
  );
}

function Protocol({ running }: { readonly running: Answer | null }) {
  const { composer } = useWords();
  const { protocol } = usePreferences();
  return (
    <ProtocolPicker
      label={composer.protocol}
      value={protocol}
      onChange={(chosen) => {
        setPreferences({ protocol: chosen });
        if (running) answers.switchTo(running.id, chosen);
      }}
    />
  );
}

function Send() {
  const { composer } = useWords();
  return (
    <Button kind="main" icon="up" type="submit">
      {composer.send}
    </Button>
  );
}

function Running({ answer }: { readonly answer: Answer }) {
  const { composer } = useWords();
  return (
    <>
      <Button kind="quiet" icon="cut" className="drop" onClick={() => answers.drop(answer.id)}>
        {composer.drop}
      </Button>
      <button type="button" className="b main" onClick={() => void answers.stop(answer.id)}>
        <span className="stop" />
        <span className="tx">{composer.stop}</span>
      </button>
    </>
  );
}

/** Send stays: the engine may be back by then. */
function Offline() {
  const { composer } = useWords();
  const { status } = useReadiness();
  if (status !== "down" && status !== "unreachable") return null;
  return <Notice icon="alert">{status === "down" ? composer.offline : composer.serverDown}</Notice>;
}

function Editing({ onCancel }: { readonly onCancel: () => void }) {
  const { thread } = useWords();
  return (
    <div className="editing">
      <span className="grow">{thread.editing}</span>
      <IconButton icon="x" label={thread.cancelEdit} onClick={onCancel} />
    </div>
  );
}

/** The answer, while it can be stopped. */
function useRunning(answer: Answer | undefined): Answer | null {
  const state = useAnswerState(answer);
  return answer && state !== undefined && isOpen({ ...answer, state }) ? answer : null;
}
