*, (octet_length(payload) > {most} OR octet_length(payload_binary) > {most}
                 OR GREATEST(octet_length(destination), octet_length(topic), octet_length(lane), octet_length(content_type),
                             octet_length(headers), octet_length(traceparent), octet_length(last_error)) > {most} / 8) AS large
