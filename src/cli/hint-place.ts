/** Commands that a hint names, with the place where this run has worked: pasted as they stand they would work in another one. */
import type { Settings } from '../compose/settings.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { placeFlags } from './operation/resume-line.js';
import { shellLine } from './shell-line.js';

const COMMAND = /`flywheel ([^`]+)`/g;
/** They are about no service. */
const PLACELESS = /^(?:help|profile)\b/;
/** They are of whoever runs a service that is elsewhere. */
const OF_DIRECTORY = /^(?:audit|db|keys|local|register|serve|vault)\b/;

/** The error with such a hint; anything else as it is. */
export function withPlace(thrown: unknown, settings: Settings): unknown {
  const place = shellLine(placeFlags(settings));
  if (!(thrown instanceof FlywheelError) || thrown.hint === undefined || place === '') return thrown;
  const isRemote = settings.apiUrl.value !== null;
  const hint = thrown.hint.replaceAll(COMMAND, (command: string, words: string) => {
    const hasPlace = words.includes(place) || PLACELESS.test(words) || (isRemote && OF_DIRECTORY.test(words));
    return hasPlace ? command : `\`flywheel ${words} ${place}\``;
  });
  return thrown.with({ hint });
}
