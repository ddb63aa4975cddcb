/** API keys: how they are made and how a given one is recognised. Only their SHA-256 is ever stored. */
import { base58Encode } from '../../values/base58.js';
import { type Sha256, sha256 } from '../../values/digest.js';
import type { Ids } from '../../values/ids.js';
import { Secret } from '../../values/secret.js';

/** Lets secret scanners recognise a key that got out. */
const PREFIX = 'fwk_';
const RANDOM_BYTES = 32;

export const createApiKey = (ids: Ids): Secret => new Secret(PREFIX + base58Encode(ids.bytes(RANDOM_BYTES)));

/**
 * The hash under which a key is stored. Looking a key up by its hash takes no longer for one that is almost right, so
 * timing tells nothing.
 */
export const apiKeyHash = (key: Secret): Sha256 => sha256(key.reveal());
