/** Loopback TLS servers with test certificates, and a tunnelling proxy. */
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttps, type ServerOptions } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';

/** Self-signed, for api.flywheel.test and 127.0.0.1; it protects nothing. */
export const TEST_CERTIFICATE = `
-----BEGIN CERTIFICATE-----
MIIBdjCCAR2gAwIBAgIBATAKBggqhkjOPQQDAjAYMRYwFAYDVQQDDA1mbHl3aGVl
bCB0ZXN0MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAYMRYwFAYD
VQQDDA1mbHl3aGVlbCB0ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEgROt
Wr70lT915TTim5jfPPbOt+sEIcsuaxbA4JZthNYN4iFCZo9pz2TY1UB/e09ml6ns
dKCNnq7UPt+EpIGrzaNWMFQwIgYDVR0RBBswGYIRYXBpLmZseXdoZWVsLnRlc3SH
BH8AAAEwDwYDVR0TAQH/BAUwAwEB/zAdBgNVHQ4EFgQU7+L9VlQc+TPBmTS0EtkD
aE0Kv+4wCgYIKoZIzj0EAwIDRwAwRAIgdBroFHOXpg39ltfzf5sJ2FVUDSpXHKBk
Zzi1e3PIEJ8CIEwA+66AcAbBwZN7sba6dWaMTbGOkbV/bJ2HQ0jNZB3W
-----END CERTIFICATE-----
`.trimStart();

/** Like {@link TEST_CERTIFICATE}, expired at the end of 2020. */
export const EXPIRED_CERTIFICATE = `
-----BEGIN CERTIFICATE-----
MIIBiDCCAS6gAwIBAgIUHPWmT+/mNiUB9TtHcHq0NBHxkz0wCgYIKoZIzj0EAwIw
GDEWMBQGA1UEAwwNZmx5d2hlZWwgdGVzdDAeFw0yMDAxMDEwMDAwMDBaFw0yMTAx
MDEwMDAwMDBaMBgxFjAUBgNVBAMMDWZseXdoZWVsIHRlc3QwWTATBgcqhkjOPQIB
BggqhkjOPQMBBwNCAASBE61avvSVP3XlNOKbmN889s636wQhyy5rFsDglm2E1g3i
IUJmj2nPZNjVQH97T2aXqex0oI2ertQ+34SkgavNo1YwVDAiBgNVHREEGzAZghFh
cGkuZmx5d2hlZWwudGVzdIcEfwAAATAPBgNVHRMBAf8EBTADAQH/MB0GA1UdDgQW
BBTv4v1WVBz5M8GZNLQS2QNoTQq/7jAKBggqhkjOPQQDAgNIADBFAiACJO5J7ygc
M+RCwY1fD5X5+C+oqmo1arPUv6QbYwL0pQIhAJ46kcM70hamaYVyu2+0svOGhrZw
y/mpg0E8es6bLt52
-----END CERTIFICATE-----
`.trimStart();

/** Like {@link TEST_CERTIFICATE}, valid from 2100. */
export const EARLY_CERTIFICATE = `
-----BEGIN CERTIFICATE-----
MIIBjDCCATKgAwIBAgIULEh3PVjMY1bbJI2kDVZXXeFdCzowCgYIKoZIzj0EAwIw
GDEWMBQGA1UEAwwNZmx5d2hlZWwgdGVzdDAiGA8yMTAwMDEwMTAwMDAwMFoYDzIx
MjAwMTAxMDAwMDAwWjAYMRYwFAYDVQQDDA1mbHl3aGVlbCB0ZXN0MFkwEwYHKoZI
zj0CAQYIKoZIzj0DAQcDQgAEgROtWr70lT915TTim5jfPPbOt+sEIcsuaxbA4JZt
hNYN4iFCZo9pz2TY1UB/e09ml6nsdKCNnq7UPt+EpIGrzaNWMFQwIgYDVR0RBBsw
GYIRYXBpLmZseXdoZWVsLnRlc3SHBH8AAAEwDwYDVR0TAQH/BAUwAwEB/zAdBgNV
HQ4EFgQU7+L9VlQc+TPBmTS0EtkDaE0Kv+4wCgYIKoZIzj0EAwIDSAAwRQIgT3eh
YgVeFrV5t2ZrguJrv/efX1bsjt2NXmYfAcncy9ACIQDqd6WZuoJyZmxo4w5/Rqmk
zrdk2FaIdgYCvUmmaJkVsA==
-----END CERTIFICATE-----
`.trimStart();

/** Like {@link TEST_CERTIFICATE}, for other.flywheel.test only. */
export const OTHER_NAME_CERTIFICATE = `
-----BEGIN CERTIFICATE-----
MIIBhjCCASygAwIBAgIUIKzIk6JAYfCLB3wAEz8XyQjCeo4wCgYIKoZIzj0EAwIw
GDEWMBQGA1UEAwwNZmx5d2hlZWwgdGVzdDAgFw0yMDAxMDEwMDAwMDBaGA8yMTIw
MDEwMTAwMDAwMFowGDEWMBQGA1UEAwwNZmx5d2hlZWwgdGVzdDBZMBMGByqGSM49
AgEGCCqGSM49AwEHA0IABIETrVq+9JU/deU04puY3zz2zrfrBCHLLmsWwOCWbYTW
DeIhQmaPac9k2NVAf3tPZpep7HSgjZ6u1D7fhKSBq82jUjBQMB4GA1UdEQQXMBWC
E290aGVyLmZseXdoZWVsLnRlc3QwDwYDVR0TAQH/BAUwAwEB/zAdBgNVHQ4EFgQU
7+L9VlQc+TPBmTS0EtkDaE0Kv+4wCgYIKoZIzj0EAwIDSAAwRQIhAMMUYqMUL75Y
YhNlVCQIJMmuFxBRApqy5hRoAEW6oNVAAiBLBQaQ4rxnsdAmmawX+gFkKGAfmAgG
mtowE2x04VkdEw==
-----END CERTIFICATE-----
`.trimStart();

/** A certificate authority outside every trust store. */
export const TEST_AUTHORITY = `
-----BEGIN CERTIFICATE-----
MIIBejCCASCgAwIBAgIUcTkADprUWBJN8A+1QXbHit9YYyAwCgYIKoZIzj0EAwIw
IjEgMB4GA1UEAwwXZmx5d2hlZWwgdGVzdCBhdXRob3JpdHkwIBcNMjAwMTAxMDAw
MDAwWhgPMjEyMDAxMDEwMDAwMDBaMCIxIDAeBgNVBAMMF2ZseXdoZWVsIHRlc3Qg
YXV0aG9yaXR5MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEn9VUIsAKitcG+osW
yxjLE6JTxMfUk+yKaMdghyxnZZRj5kA+E25a1NbL8aH/zeQ3mxIlm7+L2ujuvbPv
s3rGdKMyMDAwDwYDVR0TAQH/BAUwAwEB/zAdBgNVHQ4EFgQUTiSs9Y+sBCxQVrsf
83XQlOa7Hg8wCgYIKoZIzj0EAwIDSAAwRQIgUl7EJ8mcVLpQw6BZUKHnsw8+NGsk
73NJdWR5+2uor6gCIQD22H0XBK9vvi+JT05JpHXmlZuxrOy1My46a0cxejsJCw==
-----END CERTIFICATE-----
`.trimStart();

/** For the names of {@link TEST_CERTIFICATE}, signed by {@link TEST_AUTHORITY}. */
export const ISSUED_CERTIFICATE = `
-----BEGIN CERTIFICATE-----
MIIBpTCCAUqgAwIBAgIUaLikJsqRVEtKqMK5H6nSK+otHNAwCgYIKoZIzj0EAwIw
IjEgMB4GA1UEAwwXZmx5d2hlZWwgdGVzdCBhdXRob3JpdHkwIBcNMjAwMTAxMDAw
MDAwWhgPMjEyMDAxMDEwMDAwMDBaMBgxFjAUBgNVBAMMDWZseXdoZWVsIHRlc3Qw
WTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASBE61avvSVP3XlNOKbmN889s636wQh
yy5rFsDglm2E1g3iIUJmj2nPZNjVQH97T2aXqex0oI2ertQ+34SkgavNo2YwZDAi
BgNVHREEGzAZghFhcGkuZmx5d2hlZWwudGVzdIcEfwAAATAdBgNVHQ4EFgQU7+L9
VlQc+TPBmTS0EtkDaE0Kv+4wHwYDVR0jBBgwFoAUTiSs9Y+sBCxQVrsf83XQlOa7
Hg8wCgYIKoZIzj0EAwIDSQAwRgIhAPJ2n7eZ38NUgJ+b6BvBbRZQ4qEYGUq8+9Il
KT7bp4AvAiEAgeXUrcL9ejBl8HG9X8Btnv3j3vG3pJcB+mIKj1igXtk=
-----END CERTIFICATE-----
`.trimStart();

export const TEST_PRIVATE_KEY = `
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgQKOPq5e2AglHeV3e
2Na+6gJCBgluTf7Y5q7BeVslfomhRANCAASBE61avvSVP3XlNOKbmN889s636wQh
yy5rFsDglm2E1g3iIUJmj2nPZNjVQH97T2aXqex0oI2ertQ+34SkgavN
-----END PRIVATE KEY-----
`.trimStart();

interface Running {
  readonly port: number;
  /** Paths that the server received, or hosts that the proxy received. */
  readonly asked: string[];
  /** Every byte that the proxy saw in plain text. */
  readonly seen: string[];
  close(): Promise<void>;
}

async function running(
  server: ReturnType<typeof createHttp>,
  asked: string[],
  seen: string[],
): Promise<Running> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    seen,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

export function startTlsServer(
  options: ServerOptions = {},
  answer: (response: ServerResponse) => void = (response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end('null'),
): Promise<Running> {
  const asked: string[] = [];
  const tls = { cert: TEST_CERTIFICATE, key: TEST_PRIVATE_KEY, ...options };
  const server = createHttps(tls, (request, response) => {
    asked.push(request.url ?? '');
    answer(response);
  });
  return running(server, asked, []);
}

/** Tunnels every CONNECT to one loopback port, whatever its host; a secure proxy speaks TLS itself. */
export function startTunnel(port: number, { secure = false } = {}): Promise<Running> {
  const [asked, seen]: [string[], string[]] = [[], []];
  const refuse = (request: IncomingMessage, response: ServerResponse): void => {
    seen.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
    response.writeHead(500).end();
  };
  const server = secure
    ? createHttps({ cert: TEST_CERTIFICATE, key: TEST_PRIVATE_KEY }, refuse)
    : createHttp(refuse);
  server.on('connect', (request, client: Socket) => {
    asked.push(request.url ?? '');
    seen.push(JSON.stringify(request.headers));
    const upstream = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      client.on('data', (chunk: Buffer) => seen.push(chunk.toString('latin1')));
      client.pipe(upstream).pipe(client);
    });
    upstream.on('error', () => client.destroy());
    client.on('error', () => upstream.destroy());
  });
  return running(server, asked, seen);
}
