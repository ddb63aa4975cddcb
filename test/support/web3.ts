/** Connections of web3.js whose sockets are closed at the end of a test. */
import { Connection } from '@solana/web3.js';

interface Socket {
  setAutoReconnect(reconnects: boolean): void;
  close(): void;
}

const connections = new Set<Connection>();

export function connectionTo(url: string): Connection {
  const connection = new Connection(url, 'confirmed');
  connections.add(connection);
  return connection;
}

/** An open socket would reconnect to a node that is gone. */
export function closeConnections(): void {
  for (const connection of connections) {
    const socket = Reflect.get(connection, '_rpcWebSocket') as Socket;
    socket.setAutoReconnect(false);
    socket.close();
  }
  connections.clear();
}
