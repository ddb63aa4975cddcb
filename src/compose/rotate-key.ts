/**
 * Rotates an API key so that a lost answer loses nothing: the new key lies in a file, readable by this user only, before the store
 * learns of it. Run again, the key is taken from that file, and the rotation is carried on or found done.
 */
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { RotatedKey } from '../cli/context.js';
import type { Admin, ApiKeyRotated } from '../contract/admin.js';
import { apiKeyHash, createApiKey, isApiKey } from '../engine/authenticate.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import { fileProblem, readIfThere } from '../files/read-file.js';
import { makePrivateDirectory, writeFileAtomic } from '../files/write-file.js';
import { randomIds } from '../values/ids.js';
import { Secret } from '../values/secret.js';
import { dataFiles, PRIVATE_FILE_MODE, readSecret, writePrivate } from './local-config.js';

export interface KeyRotation {
  readonly id: string;
  readonly graceMs: number;
  /** Absolute path; `null`: a file of its own in the data directory. */
  readonly outFile: string | null;
}

/** Keys that were made in the place of others, each in a file with the name of the other. */
const ROTATED_DIRECTORY = 'rotated-keys';

/** The key in the file, or a new one that lies in it from here on. @throws `ERR_INPUT_INVALID` for a file with anything else. */
function keyIn(file: string): { readonly key: Secret; readonly isNew: boolean } {
  let text: string | undefined;
  try {
    text = readIfThere(file)?.trim();
  } catch (cause) {
    throw new FlywheelError('ERR_INPUT_INVALID', `${file}: ${fileProblem(cause)}.`, { cause });
  }
  if (text !== undefined) {
    if (isApiKey(text)) return { key: new Secret(text), isNew: false };
    throw new FlywheelError('ERR_INPUT_INVALID', `${file}: there is a file of that name already.`);
  }
  const key = createApiKey(randomIds);
  writeFileAtomic(file, `${key.reveal()}\n`, 'ERR_INPUT_INVALID', {
    mode: PRIVATE_FILE_MODE,
    exclusive: true,
  });
  return { key, isNew: true };
}

/** A key that the store has refused opens nothing: one that was made for this is not left behind. */
async function rotateWith(
  admin: Pick<Admin, 'rotateKey'>,
  file: string,
  { id, graceMs }: KeyRotation,
): Promise<{ readonly key: Secret; readonly rotated: ApiKeyRotated }> {
  const { key, isNew } = keyIn(file);
  try {
    return { key, rotated: await admin.rotateKey({ id, key, graceMs }) };
  } catch (error) {
    if (isNew && isFlywheelError(error, 'ERR_INVALID_REQUEST')) rmSync(file, { force: true });
    throw error;
  }
}

/**
 * Also gives the commands of this machine the new key, where the old one was theirs.
 * @param ownFile - holds the one of the commands.
 */
export async function rotateKeyInFile(
  dataDir: string,
  admin: Pick<Admin, 'keyToRotate' | 'rotateKey'>,
  rotation: KeyRotation,
  ownFile: string = dataFiles(dataDir).apiKey,
): Promise<RotatedKey> {
  const { id, outFile } = rotation;
  const { hash } = await admin.keyToRotate(id);
  const file = outFile ?? join(dataDir, ROTATED_DIRECTORY, `${id}.key`);
  if (outFile === null) makePrivateDirectory(dirname(file), 'ERR_INPUT_INVALID');
  const { key, rotated } = await rotateWith(admin, file, rotation);
  const own = readSecret(ownFile);
  // The same answer also where the new key was put there before.
  const isOwn = own !== null && [hash, apiKeyHash(key)].includes(apiKeyHash(own));
  if (isOwn) writePrivate(ownFile, `${key.reveal()}\n`);
  return { ...rotated, key: key.reveal(), file, isOwn };
}
