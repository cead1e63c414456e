"""Items of the OpenAI Responses API: ``input`` of a request, ``output`` of an answer."""
