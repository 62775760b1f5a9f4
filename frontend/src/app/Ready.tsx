// The dot in the bar: how many models are ready, or what is wrong; opens the list of engines and store.

import { Button, Dialog, DialogTrigger, Popover } from "react-aria-components";
import type { Words } from "../i18n/language";
import { useWords } from "../i18n/language";
import { type Readiness, useReadiness } from "./readiness";

export function Ready() {
  const words = useWords();
  const state = useReadiness();
  return (
    <>
      <DialogTrigger>
        <Button className="b quiet ready only-desk">
          <span className={isGood(state) ? "dot" : "dot off"} />
          {sentence(state, words)}
        </Button>
        <Popover className="pop" placement="bottom end" offset={4}>
          <Dialog className="pop-body" aria-label={words.ready.list}>
            <ReadyList state={state} />
          </Dialog>
        </Popover>
      </DialogTrigger>
      <span className="sr" role="status">
        {state.status === "checking" ? "" : sentence(state, words)}
      </span>
    </>
  );
}

export function ReadyList({ state }: { readonly state: Readiness }) {
  const { ready } = useWords();
  return (
    <>
      <h2 className="sub">{ready.list}</h2>
      <dl className="kv">
        {state.models.map((model) => (
          <Row key={model.id} name={model.id} good={model.state === "ready"}>
            {ready.state[model.state] ?? model.state}
          </Row>
        ))}
        {state.store && (
          <Row name={ready.store} good={state.store.ok}>
            {(state.store.ok ? ready.storeOk : ready.storeDown)(state.store.kind)}
          </Row>
        )}
        {state.status === "unreachable" && (
          <Row name="/readyz" good={false}>
            {ready.unreachable}
          </Row>
        )}
      </dl>
      <p className="small">{ready.checkedEvery}</p>
    </>
  );
}

function Row(props: { readonly name: string; readonly good: boolean; readonly children: React.ReactNode }) {
  return (
    <>
      <dt>
        <span className={props.good ? "dot" : "dot off"} />
        {props.name}
      </dt>
      <dd>{props.children}</dd>
    </>
  );
}

const isGood = ({ status }: Readiness) => status === "ready" || status === "checking";

function sentence(state: Readiness, { ready }: Words): string {
  if (state.status === "checking") return ready.checking;
  if (state.status === "unreachable") return ready.unreachable;
  const good = state.models.filter((model) => model.state === "ready").length;
  if (state.status === "ready" && good > 0) return ready.models(good);
  return ready.down;
}
