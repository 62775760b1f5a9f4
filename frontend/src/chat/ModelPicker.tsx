// Which model answers. What is not ready can be chosen too: it may be by the time one sends.

import { memo } from "react";
import { Button, Label, ListBox, ListBoxItem, Popover, Select, SelectValue } from "react-aria-components";
import { type ModelChoice, useModels } from "../app/models";
import { useWords } from "../i18n/language";
import { Icon } from "../ui/Icon";
import { changeSettings } from "./settings";

interface Props {
  readonly conversationId: string | undefined;
  readonly chosen: string | null;
}

/** Kept as it is while the conversation grows: a list box that is drawn anew costs a commit of its own. */
export const ModelPicker = memo(function ModelPicker({ conversationId, chosen }: Props) {
  const { model: words } = useWords();
  const models = withChosen(useModels(), chosen);
  const shown = chosen ?? models[0]?.id ?? null;
  return (
    <Select
      value={shown}
      onChange={(key) => changeSettings(conversationId, { model: key === null ? null : String(key) })}
    >
      <Label className="sr">{words.label}</Label>
      <Button className="b quiet pick">
        <SelectValue className="pick-name">{shown ?? words.loading}</SelectValue>
        <Icon name="chev" />
      </Button>
      <Popover className="pop" placement="bottom end" offset={4}>
        <ListBox items={models} renderEmptyState={() => <p className="none">{words.none}</p>}>
          {(choice) => <Choice choice={choice} />}
        </ListBox>
      </Popover>
    </Select>
  );
});

function Choice({ choice }: { readonly choice: ModelChoice }) {
  const { ready } = useWords();
  const isReady = choice.state === "ready";
  return (
    <ListBoxItem className="item" id={choice.id} textValue={choice.id}>
      <span className={isReady ? "dot" : "dot off"} />
      <span className="grow">{choice.id}</span>
      <small>{[choice.engine, ready.state[choice.state] ?? choice.state].filter(Boolean).join(" · ")}</small>
      <span className="check">
        <Icon name="check" />
      </span>
    </ListBoxItem>
  );
}

/** A model that was chosen and is no longer there is shown as what it is. */
function withChosen(models: readonly ModelChoice[], chosen: string | null): readonly ModelChoice[] {
  if (!chosen || models.some(({ id }) => id === chosen)) return models;
  return [...models, { id: chosen, state: "down", engine: "" }];
}
