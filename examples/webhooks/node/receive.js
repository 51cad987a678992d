// Takes webhooks, and believes only what is signed: node receive.js SECRET
//
// SECRET is whsec_…, or whpk_…, the public half of the sender's ed25519 key. Prints the port that it listens on. Answers 204 to what it
// believes and 401 to what it does not.

import { createPublicKey, verify } from "node:crypto";
import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

const secret = process.argv[2];
const check = secret.startsWith("whpk_") ? ed25519(secret.slice("whpk_".length)) : hmac(secret);

function hmac(secret) {
  const webhook = new Webhook(secret);
  return (body, headers) => webhook.verify(body, headers);
}

// The package knows no ed25519; Node does.
function ed25519(base64) {
  const x = Buffer.from(base64, "base64").toString("base64url");
  const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
  return (body, headers) => {
    const { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": signatures } = headers;
    if (Math.abs(Date.now() / 1000 - Number(time)) > 300) throw new Error("too old, or from the future");
    const content = Buffer.concat([Buffer.from(`${id}.${time}.`), body]);
    const right = signatures
      .split(" ")
      .filter((signature) => signature.startsWith("v1a,"))
      .some((signature) => verify(null, content, key, Buffer.from(signature.slice("v1a,".length), "base64")));
    if (!right) throw new Error("no signature is right");
  };
}

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    check(Buffer.concat(chunks), request.headers);
    response.writeHead(204).end();
  } catch {
    response.writeHead(401).end();
  }
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
