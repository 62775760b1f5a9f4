// The line at the foot of the page that offers to undo.

import { useWords } from "../i18n/language";
import { Button } from "../ui/Button";
import { offerUndo, useUndoable } from "./undo";

export function UndoLine() {
  const { list } = useWords();
  const undoable = useUndoable();
  const undo = () => {
    undoable?.undo();
    offerUndo(null);
  };
  return (
    <div role="status">
      {undoable && (
        <div className="toast">
          <span>{undoable.text}</span>
          <Button kind="line" onClick={undo}>
            {list.undo}
          </Button>
        </div>
      )}
    </div>
  );
}
