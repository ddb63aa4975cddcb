/** Units that build on each other on a chain that takes its time: sent ahead where it is safe, and none believed to have failed for that. */
import { describe, expect, it } from 'vitest';
import type { Chain, Trace } from '../../../../src/chain/chain.js';
import type { Unit } from '../../../../src/engine/settle/fate.js';
import { settle } from '../../../../src/engine/settle/settle.js';

type State = 'gone' | 'run' | 'run badly' | 'landed' | 'failed' | 'never';

/** A chain of states that the test sets; each unit is one transaction whose name is its only byte. */
class Script {
  readonly states = new Map<string, State>();
  readonly sent: string[] = [];
  readonly tried: string[] = [];
  /** Happens at each look. */
  onLook: (look: number) => void = () => {};
  #looks = 0;

  get chain(): Chain {
    return {
      pollMs: 1,
      bundleSize: 1,
      submitBundles: async ([[bytes = new Uint8Array()] = []], [isNew = false] = []) => {
        const name = String.fromCharCode(bytes[0] ?? 0);
        this.sent.push(name);
        if (isNew) this.tried.push(name);
        return [null];
      },
      trace: async (sought) => {
        this.#looks += 1;
        if (this.#looks > 200) throw new TypeError('It looks for ever.');
        this.onLook(this.#looks);
        return sought.map(({ signature }) => this.#trace(signature));
      },
    } as Partial<Chain> as Chain;
  }

  #trace(signature: string): Trace {
    const record = {
      ...{ signature, slot: 1n, blockTimeMs: 1, error: null, logs: [] },
      ...{ feeLamports: 5_000n, computeUnits: 1n },
    };
    const state = this.states.get(signature) ?? 'gone';
    if (state === 'landed') return { kind: 'landed', record, isFinal: true };
    if (state === 'failed') {
      const error = { kind: 'transaction', error: 'AccountInUse' } as const;
      return { kind: 'landed', record: { ...record, error }, isFinal: true };
    }
    if (state === 'never') return { kind: 'never' };
    return state === 'run' ? { kind: 'open', ranWell: true } : { kind: 'open' };
  }
}

const unit = (name: string): Unit => ({
  transactions: [{ signature: name, bytes: Uint8Array.of(name.charCodeAt(0)) }],
  lastValidBlockHeight: 1n,
});

function run(script: Script, names: string, areNew = true) {
  const renewed: [string, bigint][] = [];
  const ends = settle(script.chain, {
    units: [...names].map(unit),
    areNew,
    as: 'bundles',
    renew: async (expired, inVain) => {
      const fees = inVain.reduce((sum, { feeLamports }) => sum + feeLamports, 0n);
      return expired.map(({ transactions: [only] }) => {
        renewed.push([only?.signature ?? '', fees]);
        return unit((only?.signature ?? '').toUpperCase());
      });
    },
  }).then((settled) =>
    settled.map(({ unit: { transactions }, end }) => [transactions[0]?.signature, end.kind]),
  );
  return { ends, renewed };
}

describe('units in order', () => {
  it('go out one after the other as soon as the one before has been run, no more than a few ahead', async () => {
    const script = new Script();
    let mostOpen = 0;
    const setAll = (names: readonly string[], state: State): void => {
      for (const name of names) script.states.set(name, state);
    };
    script.onLook = () => {
      const open = script.sent.filter((name) => script.states.get(name) !== 'landed');
      mostOpen = Math.max(mostOpen, open.length);
      const isFull = open.length >= 6 || script.sent.length === 12;
      setAll(open, isFull ? 'landed' : 'run');
    };
    const { ends } = run(script, 'abcdefghijkl');
    expect((await ends).every(([, end]) => end === 'landed')).toBe(true);
    expect(script.sent.join('')).toBe('abcdefghijkl');
    expect(mostOpen).toBe(6);
  });

  it('wait while the one before has not been run, or has failed there', async () => {
    const script = new Script();
    script.onLook = (look) => {
      if (look === 3) script.states.set('a', 'run badly');
      if (look < 6) expect(script.sent).toEqual(['a']);
      if (look === 6) script.states.set('a', 'landed');
      if (look === 9) script.states.set('b', 'landed');
    };
    expect(await run(script, 'ab').ends).toEqual([
      ['a', 'landed'],
      ['b', 'landed'],
    ]);
    expect(script.sent).toEqual(['a', 'b']);
    // Both went out in their time.
    expect(script.tried).toEqual(['a', 'b']);
  });

  it('that failed before their time are signed anew when it has come', async () => {
    const script = new Script();
    script.onLook = (look) => {
      if (look === 1) script.states.set('a', 'run');
      // A fork takes the first away, and the second lands without it.
      if (look === 3) script.states.set('a', 'gone').set('b', 'failed');
      if (look === 6) script.states.set('a', 'landed');
      if (script.sent.includes('B')) script.states.set('B', 'landed');
    };
    const { ends, renewed } = run(script, 'ab');
    expect(await ends).toEqual([
      ['a', 'landed'],
      ['B', 'landed'],
    ]);
    expect(renewed).toEqual([['b', 5_000n]]);
    expect([script.sent, script.tried]).toEqual([
      ['a', 'b', 'B'],
      ['a', 'B'],
    ]);
  });

  it('that fail in their time have failed, and nothing after them is sent', async () => {
    const script = new Script();
    script.onLook = (look) => {
      if (look === 1) script.states.set('a', 'landed');
      if (look === 3) script.states.set('b', 'failed');
    };
    const { ends, renewed } = run(script, 'abc');
    expect(await ends).toEqual([
      ['a', 'landed'],
      ['b', 'failed'],
    ]);
    expect(renewed).toEqual([]);
    expect(script.sent).toEqual(['a', 'b']);
  });

  it('that an earlier run may have sent early are tried once more when they failed', async () => {
    const script = new Script();
    script.states.set('a', 'failed');
    script.onLook = () => {
      if (script.sent.includes('A')) script.states.set('A', 'failed');
    };
    const { ends, renewed } = run(script, 'ab', false);
    expect(await ends).toEqual([['A', 'failed']]);
    expect(renewed).toEqual([['a', 5_000n]]);
    expect(script.sent).toEqual(['A']);
  });

  it('that have proven never to land are signed anew in their place', async () => {
    const script = new Script();
    script.onLook = (look) => {
      if (look === 1) script.states.set('a', 'run');
      if (look === 3) script.states.set('a', 'never').set('b', 'never');
      for (const name of 'AB') if (script.sent.includes(name)) script.states.set(name, 'landed');
    };
    const { ends } = run(script, 'ab');
    expect(await ends).toEqual([
      ['A', 'landed'],
      ['B', 'landed'],
    ]);
    expect(script.sent).toEqual(['a', 'b', 'A', 'B']);
  });
});
