import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { clusterName, nodeAddress } from '../../../src/chain/node-address.js';

describe('nodeAddress', () => {
  it.each([
    ['mainnet', 'https://api.mainnet-beta.solana.com/'],
    ['mainnet-beta', 'https://api.mainnet-beta.solana.com/'],
    ['devnet', 'https://api.devnet.solana.com/'],
    ['testnet', 'https://api.testnet.solana.com/'],
    ['localhost', 'http://localhost:8899/'],
    ['https://rpc.example.com/v2/abcdefgh?k=1#x', 'https://rpc.example.com/v2/abcdefgh?k=1'],
  ])('takes %s', (text, url) => {
    expect(nodeAddress(text, '--rpc-url').reveal().href).toBe(url);
  });

  it.each([
    '',
    'node',
    'devnett',
    'd',
    'ws://127.0.0.1:1',
    'file:///x',
    'constructor',
    'https://',
    'sekret-key',
    'http:/sekret-key.example',
    'http:127.0.0.1/sekret-key',
    ' http://127.0.0.1/sekret-key',
    'http:\\\\127.0.0.1/sekret-key',
  ])('refuses %j and does not say it again', (text) => {
    expect(() => nodeAddress(text, '--rpc-url')).toThrow(
      /^--rpc-url is not an RPC node. Expected an http or https URL, or mainnet, mainnet-beta, devnet, testnet, localhost\.$/,
    );
  });

  it('shows no key, however it is printed, and takes it out of what others say', () => {
    const address = nodeAddress('https://me:pass%2Fword@rpc.example.com:8443/v2/KEY12345?token=tok-en', 'x');
    const all = [
      address.shown,
      String(address),
      JSON.stringify({ address }),
      inspect(address, { depth: 9, showHidden: true }),
      address.host,
    ];
    for (const text of all) expect(text).not.toMatch(/KEY|tok|pass|me:/);
    expect(address.shown).toBe('https://rpc.example.com:8443/***');
    expect(address.hide('bad KEY12345 for pass/word\nand tok-en, v2')).toBe('bad *** for *** and ***, v2');
    expect(address.hide(`not Basic ${Buffer.from('me:pass/word').toString('base64')}`)).toBe('not Basic ***');
    expect(nodeAddress('https://rpc.example.com/', 'x').shown).toBe('https://rpc.example.com');
  });
});

describe('clusterName', () => {
  it('knows the public clusters', () => {
    expect(clusterName('EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG')).toBe('devnet');
    expect(clusterName('toString')).toBeNull();
  });
});
