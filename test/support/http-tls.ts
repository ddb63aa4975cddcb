/** A TLS server with a certificate of its own, and a proxy that tunnels to it; both of loopback, for tests only. */
import { createServer as createHttp } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';

/** Signed by itself, for api.flywheel.test and 127.0.0.1; it protects nothing. */
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

const TEST_PRIVATE_KEY = `
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgQKOPq5e2AglHeV3e
2Na+6gJCBgluTf7Y5q7BeVslfomhRANCAASBE61avvSVP3XlNOKbmN889s636wQh
yy5rFsDglm2E1g3iIUJmj2nPZNjVQH97T2aXqex0oI2ertQ+34SkgavN
-----END PRIVATE KEY-----
`.trimStart();

interface Running {
  readonly port: number;
  /** What was asked of it: paths of the server, hosts of the proxy. */
  readonly asked: string[];
  /** Every byte that the proxy saw in the clear. */
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

/** Answers every request with `null`. */
export function startTlsServer(): Promise<Running> {
  const asked: string[] = [];
  const server = createHttps({ cert: TEST_CERTIFICATE, key: TEST_PRIVATE_KEY }, (request, response) => {
    asked.push(request.url ?? '');
    response.writeHead(200, { 'content-type': 'application/json' }).end('null');
  });
  return running(server, asked, []);
}

/** Tunnels every CONNECT to one port of loopback, whatever host is asked for. */
export function startTunnel(port: number): Promise<Running> {
  const [asked, seen]: [string[], string[]] = [[], []];
  const server = createHttp((request, response) => {
    seen.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
    response.writeHead(500).end();
  });
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
