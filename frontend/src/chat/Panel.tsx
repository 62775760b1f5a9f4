// "This answer": its figures, the gaps between its events, its connections and ids.

import { href } from "../app/routes";
import { useWords } from "../i18n/language";
import { Icon } from "../ui/Icon";
import { Connections } from "./Connections";
import { type Answer, isOpen } from "./conversation";
import { Gaps } from "./Gaps";
import { firstMs, rate } from "./reduce";
import { useSlowly } from "./useSlowly";

export function Panel({ answer }: { readonly answer: Answer | undefined }) {
  const { panel } = useWords();
  return (
    <aside className="panel" aria-label={panel.title}>
      <header>
        <h2 className="label">{panel.title}</h2>
        {answer && (
          <a className="b quiet" href={href("wire", answer.id)}>
            <Icon name="wire" />
            <span>{panel.frames}</span>
          </a>
        )}
      </header>
      {answer ? <Facts key={answer.id} answer={answer} /> : <p className="none">{panel.nothing}</p>}
    </aside>
  );
}

function Facts({ answer: stored }: { readonly answer: Answer }) {
  const { panel } = useWords();
  const answer = useSlowly(stored);
  const events = answer.position + 1;
  if (answer.firstAt === null && answer.state !== "failed") return <p className="none">{panel.none}</p>;
  if (answer.firstAt === null) {
    return (
      <>
        <p className="none">{panel.failedAtOnce}</p>
        <Ids answer={answer} />
      </>
    );
  }
  return (
    <>
      {answer.state === "failed" && <p className="none">{panel.failedAfter(events)}</p>}
      <Numbers answer={answer} />
      <Gaps answerId={answer.id} />
      <Connections answer={answer} />
      <Ids answer={answer} />
    </>
  );
}

function Numbers({ answer }: { readonly answer: Answer }) {
  const { panel } = useWords();
  const perToken = answer.tokens > 0 && answer.bytes > 0 ? Math.round(answer.bytes / answer.tokens) : null;
  return (
    <section>
      <dl className="nums">
        <Figure name={panel.firstToken} value={firstMs(answer)} unit="ms" />
        <Figure name={panel.rate} value={rate(answer)} unit={panel.rateUnit} />
        <Figure name={panel.events} value={answer.position + 1} />
        <Figure name={panel.wire} value={perToken} unit={panel.perToken} />
      </dl>
    </section>
  );
}

function Figure(props: { readonly name: string; readonly value: number | null; readonly unit?: string }) {
  const { lang } = useWords();
  return (
    <div>
      <dt>{props.name}</dt>
      <dd>
        {props.value === null ? "–" : props.value.toLocaleString(lang)}
        {props.value !== null && props.unit && (
          <>
            {" "}
            <small>{props.unit}</small>
          </>
        )}
      </dd>
    </div>
  );
}

function Ids({ answer }: { readonly answer: Answer }) {
  const { panel } = useWords();
  const { usage } = answer;
  const digest = {
    verified: panel.digestOk,
    mismatch: panel.digestBad,
    unknown: isOpen(answer) ? panel.digestLater : panel.digestUnknown,
  }[answer.verified];
  return (
    <section>
      <dl className="kv">
        <dt>{panel.generation}</dt>
        <dd className="mono" title={answer.streamId ?? ""}>
          {answer.streamId}
        </dd>
        <dt>{panel.model}</dt>
        <dd>{[answer.model, answer.engine].filter(Boolean).join(" · ")}</dd>
        {usage && <dt>{panel.tokens}</dt>}
        {usage && <dd>{panel.usage(usage.input_tokens, usage.output_tokens)}</dd>}
        <dt>{panel.digest}</dt>
        <dd>{digest}</dd>
      </dl>
    </section>
  );
}
