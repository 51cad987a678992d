/// A server for the examples: one connection per answer, in order. Its URL.
async fn answers(answers: &'static [(u16, &'static str)]) -> std::io::Result<String> {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/orders", listener.local_addr()?);
    tokio::spawn(async move {
        for (status, body) in answers {
            let (mut stream, _) = listener.accept().await?;
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await?;
            let length = body.len();
            let answer = format!("HTTP/1.1 {status} .\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
            stream.write_all(answer.as_bytes()).await?;
            stream.shutdown().await?;
        }
        std::io::Result::Ok(())
    });
    Ok(url)
}
