// Rename, export, delete.

import { Button, Menu, MenuItem, MenuTrigger, Popover } from "react-aria-components";
import { useWords } from "../i18n/language";
import { Icon, type IconName } from "../ui/Icon";
import { exportAs, remove } from "./actions";
import type { Conversation } from "./conversation";

interface Props {
  readonly conversation: Conversation;
  readonly isShown: boolean;
  readonly onRename: () => void;
  readonly className?: string;
}

export function ConversationMenu({ conversation, isShown, onRename, className = "" }: Props) {
  const { list } = useWords();
  return (
    <MenuTrigger>
      <Button className={`b icon ${className}`} aria-label={list.menu}>
        <Icon name="more" />
      </Button>
      <Popover className="pop" placement="bottom end" offset={4}>
        <Menu aria-label={list.menu}>
          <Item icon="edit" name={list.rename} onAction={onRename} />
          <Item icon="save" name={list.exportMarkdown} onAction={() => exportAs(conversation, "md")} />
          <Item icon="save" name={list.exportJson} onAction={() => exportAs(conversation, "json")} />
          <Item danger icon="trash" name={list.delete} onAction={() => remove(conversation, isShown)} />
        </Menu>
      </Popover>
    </MenuTrigger>
  );
}

interface ItemProps {
  readonly icon: IconName;
  readonly name: string;
  readonly danger?: boolean;
  readonly onAction: () => void;
}

function Item({ icon, name, danger = false, onAction }: ItemProps) {
  return (
    <MenuItem className={danger ? "item danger" : "item"} textValue={name} onAction={onAction}>
      <Icon name={icon} />
      {name}
    </MenuItem>
  );
}
