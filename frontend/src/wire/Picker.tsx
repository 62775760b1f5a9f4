// Which answer is looked at: the newest first, answers of conversations and lanes of races alike.
import { Button, ListBox, ListBoxItem, Popover, Select, SelectValue } from "react-aria-components";
import type { Recording } from "../app/recordings";
import { useDictionary } from "../i18n/language";
import { WIRE_WORDS } from "../i18n/wire";
import { buttonClass } from "../ui/Button";
import { Icon } from "../ui/Icon";

interface Props {
  readonly recordings: readonly Recording[];
  readonly chosen: string;
  readonly onChoose: (id: string) => void;
}

export function Picker({ recordings, chosen, onChoose }: Props) {
  const words = useDictionary(WIRE_WORDS);
  return (
    <Select
      aria-label={words.choose}
      value={chosen}
      onChange={(key) => key !== null && onChoose(String(key))}
      className="choose"
    >
      <Button className={buttonClass("plain", "pick")}>
        <SelectValue className="name">{({ selectedText }) => selectedText}</SelectValue>
        <Icon name="chev" />
      </Button>
      <Popover className="pop answers" placement="bottom start">
        <ListBox items={recordings}>
          {({ id, title }) => (
            <ListBoxItem id={id} textValue={title} className="item">
              <span className="grow">{title}</span>
              <span className="check">
                <Icon name="check" />
              </span>
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </Select>
  );
}
