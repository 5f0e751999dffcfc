// Requests to the server: JSON, bytes, uploads with progress, and the state at every change.

export class ServerError extends Error {}

async function answer(response) {
  if (response.ok) return response;
  let text = `the server answered ${response.status}`;
  try {
    text = (await response.json()).error ?? text;
  } catch {
    // A refusal of the guard is plain text, not JSON.
  }
  throw new ServerError(text);
}

const lost = () => { throw new ServerError("the server does not answer; is 'relblur view' still running?"); };

export const get = async (path) => (await answer(await fetch(path).catch(lost))).json();

export const bytes = async (path) => (await answer(await fetch(path).catch(lost))).arrayBuffer();

export async function post(path, body = {}) {
  const content = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  return (await answer(await fetch(path, content).catch(lost))).json();
}

// Uploads a file; returns its identifier.
export function upload(file, onShare) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/api/upload");
    request.setRequestHeader("x-file-name", encodeURIComponent(file.name));
    request.setRequestHeader("content-type", "application/octet-stream");
    request.upload.onprogress = (event) => onShare(event.lengthComputable ? event.loaded / event.total : 0);
    request.onload = () => {
      if (request.status === 200) return resolve(JSON.parse(request.responseText).id);
      let text = `the server answered ${request.status}`;
      try { text = JSON.parse(request.responseText).error ?? text; } catch { /* plain text */ }
      reject(new ServerError(text));
    };
    request.onerror = () => reject(new ServerError(`${file.name} could not be sent; it may be too large`));
    request.send(file);
  });
}

// Calls onState with every state, onLost(true) when the connection is lost and onLost(false) when it is restored.
export function follow(onState, onLost) {
  let wait = 300;
  const connect = () => {
    const socket = new WebSocket(`ws://${location.host}/ws`);
    socket.onopen = () => { wait = 300; onLost(false); };
    socket.onmessage = (event) => onState(JSON.parse(event.data));
    socket.onclose = () => {
      onLost(true);
      setTimeout(connect, wait);
      wait = Math.min(10000, 2 * wait);
    };
  };
  connect();
}
