/** What of a command line is kept with an operation, and shown by `pending`. */
import { describe, expect, it } from 'vitest';
import { shownWords } from '../../../src/cli/shown-words.js';

describe('a command line that is kept', () => {
  it.each<[readonly string[], readonly string[]]>([
    [
      ['burn', '--rpc-url', 'https://user:secret@rpc.example/'],
      ['burn', '--rpc-url', 'https://rpc.example/***'],
    ],
    [['--rpc-url=https://rpc.example/secret'], ['--rpc-url=https://rpc.example/***']],
    [
      ['--rpc-url', 'HTTPS://rpc.example?api-key=secret'],
      ['--rpc-url', 'https://rpc.example/***'],
    ],
    [
      ['--block-engine', 'https://secret@[bad'],
      ['--block-engine', '***'],
    ],
    [
      ['--operator-signer', 'node sign.mjs --token=secret'],
      ['--operator-signer', 'node ***'],
    ],
    [['--burn-signer=./sign secret'], ['--burn-signer=./sign ***']],
  ])('has no key in it: %j', (words, shown) => {
    expect(shownWords(words)).toEqual(shown);
  });

  it('is otherwise as it was typed', () => {
    const words = [
      ...['burn', '--rpc-url', 'http://127.0.0.1:8899', '--rpc-url', 'devnet', '--operator-signer', './sign'],
      ...['--proof', '{"at":"https://shop.example/order/1"}', '--amount', '1'],
    ];
    expect(shownWords(words)).toEqual(words);
  });
});
