/** Revokes an API key. The same for the commands of every kind of flywheel. */
import type { Session } from '../command.js';

export async function revokeKey(session: Session, id: string): Promise<undefined> {
  const key = await (await session.local()).revokeKey(id);
  session.output.result(key, (style) => [style.good(`Revoked ${key.id} (${key.dateRevoked ?? 'now'}).`)]);
  return undefined;
}
