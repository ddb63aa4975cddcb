/** Which engines are certain to be gone: only those that could be seen here if they lived. */
import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { createInstances } from '../../../src/compose/instances.js';

const SPACE = { boot: 'boot-1', numbers: '4026531836' };
const CONTAINER = { boot: 'boot-1', numbers: '4026532001' };

/** The id of an engine of a process that has ended. */
function ended(id: string): string {
  const { pid } = spawnSync(process.execPath, ['--version']);
  const [place, , number] = id.split('/');
  return [place, `${pid}-1`, number].join('/');
}

it('are those of an ended process of the same boot and the same space of process numbers', () => {
  const own = createInstances(SPACE);
  expect(own.isAlive(ended(own.id))).toBe(false);
  expect(own.isAlive(own.id)).toBe(true);
  own.release();
  expect(own.isAlive(own.id)).toBe(false);
});

it.each([
  ['a container beside it', CONTAINER],
  ['another boot', { ...SPACE, boot: 'boot-2' }],
  ['a system that tells nothing', { boot: '', numbers: '' }],
])('are none of %s, though host name and process number are the same', (_, space) => {
  const [own, other] = [createInstances(SPACE), createInstances(space)];
  expect(own.isAlive(ended(other.id))).toBe(true);
  other.release();
  expect(own.isAlive(other.id)).toBe(true);
  own.release();
});

it('are known by what this system tells, as long as nothing else is said', () => {
  const [own, other] = [createInstances(), createInstances()];
  expect(own.id.split('/')[0]).toBe(other.id.split('/')[0]);
  expect(own.isAlive(ended(other.id))).toBe(false);
});
