export function Chat() {
  return <main className="chat" />;
}
